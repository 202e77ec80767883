import { type Client, task } from "@mainspring/sdk";

/** Payments by their keys. In your application this is a table in which a payment's key is unique. */
export type Payments = Map<string, number>;

/**
 * Pays salaries once a month. The key is the planned month, not the month in which the task happens to run. So each
 * month is paid once, even if the task starts late, catches up after an outage, or runs twice.
 */
export function payrollTask(payments: Payments) {
  return task({
    name: "payroll",
    retry: { maxAttempts: 10, backoff: "EXPONENTIAL", initialDelayMs: 60_000 },
    run: ({ salary }: { salary: number }, ctx) => {
      const month = ctx.scheduledAt.toISOString().slice(0, 7);
      if (!payments.has(month)) payments.set(month, salary);
    },
  });
}

/** Call this each time the application starts. A repeated call changes nothing. @returns the job's id */
export async function schedulePayroll(client: Client, payroll: ReturnType<typeof payrollTask>): Promise<string> {
  const job = await payroll.job({ salary: 3_000 });
  const { jobId } = await client.jobs.upsert("payroll", {
    ...job,
    // Six in the evening of the last weekday of the month. Clocks do not change at that hour.
    schedule: "0 18 LW * *",
    timezone: "Europe/Berlin",
    misfire: "FIRE_ALL",
    overlap: "BUFFER_ONE",
  });
  return jobId;
}
