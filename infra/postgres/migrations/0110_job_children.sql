-- jobs_continuations finds the continuations of a parent, and jobs_unusual_anywhere all that wait. With 5,000 waiting
-- continuations among 300,000 jobs, the queries of jobs_children take the same time without it.
drop index jobs_children;
