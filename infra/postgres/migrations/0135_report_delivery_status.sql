-- Whether a document reached its recipients. Null: no delivery was asked for, or there is no document yet.
alter table report_executions add column delivery_status text;

update report_executions e set delivery_status = d.status
from (
  select execution_id,
    case when bool_or(status = 'Owed') then 'Pending'
      when bool_and(status = 'Delivered') then 'Delivered'
      when bool_or(status = 'Delivered') then 'Partly'
      else 'Failed' end as status
  from report_deliveries group by execution_id
) d
where d.execution_id = e.id and e.status in (3, 5);

alter table report_executions
  add constraint report_executions_delivery_status_known
  check (delivery_status in ('Pending', 'Delivered', 'Partly', 'Failed')),
  add constraint report_executions_delivery_needs_a_document check (delivery_status is null or status in (3, 5));

create index report_executions_delivery on report_executions (tenant_id, delivery_status, id)
  where delivery_status is not null;
