"""What commands are given: options, moments, tenants, apps and stores."""
