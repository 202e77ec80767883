import { Application } from "./application.ts";
import { runSubmitters } from "./submitters.ts";

const APPLICATIONS = 2;

/** Applications in a process of their own: `application-process.ts <urls> <history file> <seed> <URL of the store>`. */
await runSubmitters([Application, APPLICATIONS]);
