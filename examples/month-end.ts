import { type Client, task } from "@mainspring/sdk";

/** Payments by their keys. An application has a table in which a payment's key is unique. */
export type Payments = Map<string, number>;

/**
 * Salaries, once a month. The key is the month that was planned, not the month in which it happens to run: started
 * late, made up for after an outage, or run twice, each month is paid once.
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

/** The application calls this at each start. A repeated call changes nothing. @returns the job's id */
export async function schedulePayroll(client: Client, payroll: ReturnType<typeof payrollTask>): Promise<string> {
  const job = await payroll.job({ salary: 3_000 });
  const { jobId } = await client.jobs.upsert("payroll", {
    ...job,
    // Six in the evening of the last working day: no clock is ever set then.
    schedule: "0 18 LW * *",
    timezone: "Europe/Berlin",
    misfire: "FIRE_ALL",
    overlap: "BUFFER_ONE",
  });
  return jobId;
}
