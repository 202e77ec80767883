import { type Static, Type } from "typebox";
import { payloadSchema } from "../payload-schema.ts";

/** Texts of the operating system end at a NUL character. */
const Text = (maxLength: number) => Type.String({ maxLength, pattern: "^[^\\0]*$" });

const ExecPayloadSchema = Type.Object(
  {
    argv: Type.Array(Text(131_071), {
      minItems: 1,
      maxItems: 1_024,
      description: "a list of texts without NUL: the program and its arguments, which no shell looks at",
    }),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: "^[^=\\0]{1,256}$" }), Text(131_071), {
        additionalProperties: false,
        maxProperties: 256,
        description: "an object of names and values without NUL: the whole environment",
      }),
    ),
    cwd: Type.Optional(
      Type.String({ maxLength: 4_095, pattern: "^/[^\\0]*$", description: "the absolute path of a folder" }),
    ),
    stdin: Type.Optional(Type.String({ description: "the text that the program reads" })),
  },
  { additionalProperties: false },
);

export type ExecPayload = Static<typeof ExecPayloadSchema>;

export const execPayload = payloadSchema(ExecPayloadSchema, ({ argv: [program] }) =>
  program === "" ? [["argv", "must begin with the name or path of a program"]] : [],
);
