INSERT INTO penstock_tenant_figure (span, at, org, completed, failed, ran)
SELECT value ->> 'span', value ->> 'at', value ->> 'org', value ->> 'completed', value ->> 'failed', value ->> 'ran'
FROM json_each(:rows)
WHERE true
ON CONFLICT (span, at, org) DO UPDATE SET
    completed = penstock_tenant_figure.completed + excluded.completed, failed = penstock_tenant_figure.failed +
        excluded.failed,
    ran = penstock_tenant_figure.ran + excluded.ran
