import { Application } from "./application.ts";
import { Customer } from "./customer.ts";
import { runSubmitters } from "./submitters.ts";

const CUSTOMERS = 8;
const APPLICATIONS = 2;

/**
 * Customers and applications in a process of their own: `client-process.ts <urls> <history file> <seed> [URL of the
 * store]`. Any message ends them. Without a URL of the store there are no applications.
 */
await runSubmitters([Customer, CUSTOMERS], [Application, APPLICATIONS]);
