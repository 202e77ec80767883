import { quoted } from "../../domain/workflow/graph-problems.ts";
import type { FieldError } from "../http/errors.ts";
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
