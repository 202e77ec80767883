import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { MainspringError } from "../errors.ts";

export interface GrpcTarget {
  /** Address of the gateway, as host:port. */
  address: string;
  isTls: boolean;
}

/**
 * Parses the address of one gateway.
 * @param url `host:port` or `http://host:port` without TLS, `https://host:port` with TLS
 * @throws {MainspringError} BAD_OPTION if the text is no such address
 */
function targetOf(url: string): GrpcTarget {
  const match = /^(?:(https?):\/\/)?([^\s/]+:\d{1,5})\/?$/.exec(url);
  if (match === null) {
    throw new MainspringError("BAD_OPTION", `url: "${url}" is not the host:port of a gateway, as 127.0.0.1:8081 is`);
  }
  return { address: match[2] as string, isTls: match[1] === "https" };
}

/**
 * Authorities in PEM in the file that MAINSPRING_TLS_CA names; null: the variable is not set.
 * @throws {MainspringError} BAD_OPTION if the file cannot be read, or does not begin with a certificate
 */
export function authoritiesOfEnvironment(): string | null {
  const { MAINSPRING_TLS_CA: path = "" } = process.env;
  if (path === "") return null;
  try {
    const authorities = readFileSync(path, "utf8");
    new X509Certificate(authorities);
    return authorities;
  } catch (error) {
    const { message } = error as Error;
    throw new MainspringError("BAD_OPTION", `MAINSPRING_TLS_CA must name a file with certificates in PEM: ${message}`);
  }
}

/**
 * Parses the addresses of gateways.
 * @param urls one or more addresses, also several in one text with commas between them
 * @throws {MainspringError} BAD_OPTION if a text is no address
 */
export function targetsOf(urls: string | readonly string[]): GrpcTarget[] {
  const list = [urls].flat().flatMap((url) => url.split(","));
  return list.map((url) => targetOf(url.trim()));
}
