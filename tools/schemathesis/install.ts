import { join } from "node:path";
import { pythonWith } from "../services/python-packages.ts";

/** Path of a Python with schemathesis. */
export function schemathesisPython(): Promise<string> {
  return pythonWith({ name: "schemathesis", constraints: join(import.meta.dirname, "constraints.txt") });
}
