"""The way of a job: enqueue, claim, finish, and the gates between them."""
