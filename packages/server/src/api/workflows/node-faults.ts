import { quoted } from "../../domain/workflow/graph-problems.ts";
import { type FieldError, ProblemError } from "../http/errors.ts";
import { ERRORS_MAX } from "../http/validation.ts";

/** Fault of one node: its place in the request, and the name of the node. @param name name as sent, of any type */
export function nodeFault(index: number, name: unknown, { field, message, position }: FieldError): FieldError {
  const place = field === "" || field.startsWith("[") ? `nodes[${index}]${field}` : `nodes[${index}].${field}`;
  const whose = typeof name === "string" && name !== "" ? `node ${quoted(name)}: ` : "";
  return { field: place, message: `${whose}${message}`, ...(position !== undefined && { position }) };
}

/** Name of a node that may not meet its schema. */
export function nameOf(node: unknown): unknown {
  return typeof node === "object" && node !== null && "name" in node ? node.name : undefined;
}

/** First faults of a request, at most as many as an answer has. */
export class Faults {
  readonly list: FieldError[] = [];

  get room(): number {
    return ERRORS_MAX - this.list.length;
  }

  get isFull(): boolean {
    return this.room <= 0;
  }

  add(...faults: readonly FieldError[]): void {
    this.list.push(...faults.slice(0, Math.max(0, this.room)));
  }
}

/**
 * Does work for the sub-workflow of a node.
 * @throws {ProblemError} that of the work, with the place of the node before each place, and the name of the node before each text
 */
export async function withinNode<T>(index: number, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.errors === undefined) throw error;
    // Positions are those in the text of the sub-workflow.
    const errors = error.problem.errors.map(({ field, message }) =>
      nodeFault(index, name, { field: field === "" ? "workflow" : `workflow.${field}`, message }),
    );
    const [first] = errors;
    const detail = first === undefined ? {} : { detail: `${first.field}: ${first.message}` };
    throw new ProblemError({ ...error.problem, ...detail, errors }, error.headers);
  }
}
