SELECT at, org, completed, failed, ran FROM penstock_tenant_figure WHERE span = :span AND at >= :since AND at <
    :until ORDER BY at, org
