import { type ParseArgsConfig, parseArgs } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>["values"];

/**
 * Values of the options of this process. `--help` prints the usage and ends the process with status 0; an unknown option, or one
 * without its value, ends it as `refuse` does.
 */
export function valuesOf<const O extends Options>(usage: string, options: O): Values<O> {
  if (process.argv.slice(2).includes("--help")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return refuse(usage, (error as Error).message);
  }
}

/** Ends the process with status 2, and says how the command is used. */
export function refuse(usage: string, reason?: string): never {
  console.error(reason === undefined ? usage : `${reason}\n${usage}`);
  process.exit(2);
}
