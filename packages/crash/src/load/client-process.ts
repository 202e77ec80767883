import { Customer } from "./customer.ts";
import { runSubmitters } from "./submitters.ts";

const CUSTOMERS = 8;

/** Customers in a process of their own: `client-process.ts <urls> <history file> <seed>`. Any message ends them. */
await runSubmitters([Customer, CUSTOMERS]);
