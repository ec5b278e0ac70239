SELECT at, org, completed, failed, ran FROM penstock.tenant_figure WHERE span = %(span)s::bigint AND at >=
    %(since)s::bigint AND at < %(until)s::bigint ORDER BY at, org
