// Asks the server of this container whether it answers, and ends with 0 if it does. The certificate names other addresses than the loopback.
import { request as plain } from "node:http";
import { request as secure } from "node:https";

const { MAINSPRING_HTTP = "", MAINSPRING_TLS_CERT = "" } = process.env;
const port = Number(/:(\d+)$/.exec(MAINSPRING_HTTP)?.[1] ?? 8080);
const options = { host: "127.0.0.1", port, path: "/healthz", timeout: 4_000, rejectUnauthorized: false };
const request = (MAINSPRING_TLS_CERT === "" ? plain : secure)(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
});
request.on("timeout", () => process.exit(1));
request.on("error", () => process.exit(1));
request.end();
