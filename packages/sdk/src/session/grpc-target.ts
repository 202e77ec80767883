import { MainspringError } from "./errors.ts";

export interface GrpcTarget {
  /** host:port */
  address: string;
  isTls: boolean;
}

/**
 * @param url `host:port` or `http://host:port` without, `https://host:port` with TLS
 * @throws {MainspringError} BAD_OPTION
 */
function targetOf(url: string): GrpcTarget {
  const match = /^(?:(https?):\/\/)?([^\s/]+:\d{1,5})\/?$/.exec(url);
  if (match === null) {
    throw new MainspringError("BAD_OPTION", `url: "${url}" is not the host:port of a gateway, as 127.0.0.1:8081 is`);
  }
  return { address: match[2] as string, isTls: match[1] === "https" };
}

/**
 * @param urls one or more, also several in a text with commas between them
 * @throws {MainspringError} BAD_OPTION
 */
export function targetsOf(urls: string | readonly string[]): GrpcTarget[] {
  const list = [urls].flat().flatMap((url) => url.split(","));
  return list.map((url) => targetOf(url.trim()));
}
