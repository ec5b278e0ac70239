DELETE FROM penstock_tenant_figure WHERE span = :span AND at < :now - :age
