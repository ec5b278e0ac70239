"""The programs that chaos starts: a worker and a client, told by a Role what to do."""
