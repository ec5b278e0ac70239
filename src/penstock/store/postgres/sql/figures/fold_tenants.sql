INSERT INTO penstock.tenant_figure (span, at, org, completed, failed, ran)
SELECT span, at, org, completed, failed, ran
FROM jsonb_populate_recordset(NULL::penstock.tenant_figure, %(rows)s::text::jsonb)
ORDER BY span, at, org
ON CONFLICT (span, at, org) DO UPDATE SET
    completed = tenant_figure.completed + excluded.completed, failed = tenant_figure.failed + excluded.failed,
    ran = tenant_figure.ran + excluded.ran
