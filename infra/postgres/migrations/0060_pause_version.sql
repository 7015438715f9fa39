-- One row. A claim for remote workers locks it with the number it has read the pauses at; a pause or resume changes it.
create table job_pause_version (n integer not null);
insert into job_pause_version values (0);
