import { type Client, TerminalError, task, type WorkflowRequest } from "@mainspring/sdk";

/** Services that book and charge. Your application has its own; each call is safe to repeat with the same key. */
export interface TravelServices {
  reserve(what: "flight" | "hotel", trip: Trip, key: string): Promise<{ booking: string }>;
  cancel(booking: string, key: string): Promise<void>;
  /** @throws {CardDeclined} */
  charge(trip: Trip, key: string): Promise<{ receipt: string }>;
}

export interface Trip {
  traveller: string;
  to: string;
  cents: number;
}

/** The card was declined: another attempt cannot help. */
export class CardDeclined extends Error {
  override readonly name = "CardDeclined";
}

/** Payload of a compensation whose workflow names none. */
interface Undo<P, R> {
  payload: P;
  result: R;
  input: unknown;
}

const MINUTE_MS = 60_000;

/** Handlers of a trip: two that reserve, one that undoes a reservation, and one that charges. */
export function tripTasks(services: TravelServices) {
  const reserve = task({
    name: "reserve",
    run: ({ what, trip }: { what: "flight" | "hotel"; trip: Trip }, { executionId }) =>
      services.reserve(what, trip, executionId),
  });
  const cancel = task({
    name: "cancel-reservation",
    // An undo must get through, so it is tried for hours before anybody is called.
    retry: { maxAttempts: 100, backoff: "EXPONENTIAL", initialDelayMs: MINUTE_MS, maxDelayMs: 10 * MINUTE_MS },
    run: ({ result }: Undo<unknown, { booking: string }>, { executionId }) =>
      services.cancel(result.booking, executionId),
  });
  const charge = task({
    name: "charge",
    run: async (trip: Trip, { executionId }) => {
      try {
        return await services.charge(trip, executionId);
      } catch (error) {
        if (error instanceof CardDeclined) throw new TerminalError(error.message);
        throw error;
      }
    },
  });
  return { reserve, cancel, charge };
}

/** A trip: a flight, a hotel for the time of the flight, and the charge. If the charge fails, both are cancelled in reverse. */
export function tripWorkflow(trip: Trip): WorkflowRequest {
  const whole = { $from: "$input" };
  const compensate = { target: { handler: "cancel-reservation" } };
  return {
    name: "trip",
    input: trip,
    nodes: [
      { name: "flight", target: { handler: "reserve" }, payload: { what: "flight", trip: whole }, compensate },
      {
        ...{ name: "hotel", target: { handler: "reserve" }, payload: { what: "hotel", trip: whole }, compensate },
        dependsOn: ["flight"],
      },
      { name: "charge", target: { handler: "charge" }, payload: whole, dependsOn: ["hotel"] },
    ],
    output: { $from: "charge" },
  };
}

/**
 * Tells the traveller about a trip that has ended.
 * @returns the receipt; null: the trip could not be booked, and nothing of it is left
 * @throws {Error} the trip could not be booked, and a reservation could not be cancelled: somebody has to look
 */
export async function receiptOf(client: Client, workflowId: string): Promise<string | null> {
  const { state, reason, error, result } = await client.workflows.get(workflowId);
  if (state === "SUCCEEDED") return (result as { receipt: string }).receipt;
  if (reason === "COMPENSATION_FAILED") throw new Error(`the trip ${workflowId}: ${error?.message}`);
  return null;
}
