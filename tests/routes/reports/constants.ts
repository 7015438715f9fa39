export const REPORTS = "/api/v1/reports";
export const SCHEDULES = `${REPORTS}/schedules`;
export const [PDF, EXCEL, CSV, HTML] = [1, 2, 3, 4] as const;
export const [EMAIL, STORAGE, WEBHOOK] = [2, 3, 4] as const;
export const STATUS = { Queued: 1, Generating: 2, Completed: 3, Failed: 4, Delivered: 5, Cancelled: 6 };
