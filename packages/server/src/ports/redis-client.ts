import type { RedisAddress } from "./redis-address.ts";

/** Words of Redis with which a refusal begins that ends by itself, and their meaning. */
const PASSING: readonly (readonly [RegExp, string])[] = [
  [/^LOADING/, "Redis still loads its data"],
  [/^READONLY/, "Redis is a replica, which takes no writes"],
  [/^MASTERDOWN/, "Redis is a replica without its primary"],
  [/^OOM/, "Redis has no memory left (maxmemory)"],
  [/^MISCONF/, "Redis takes no writes, because it could not save its data"],
  [/^(NOREPLICAS|BUSY)/, "Redis takes no writes now"],
];

/** Answer of Redis that it does not do what it was asked. */
interface Refusal {
  /** Whether it lasts until a person changes something. */
  isLasting: boolean;
  /** If it lasts, the text continues the name of the setting: "has a user or …". */
  text: string;
}

/**
 * Meaning of an error of Redis; null: it is none of the usual refusals.
 * @param rights continues the name of the setting where Redis says that the user lacks a right
 */
export function refusalOf(message: string, rights: string): Refusal | null {
  const lasting: readonly (readonly [RegExp, string])[] = [
    [/^(WRONGPASS|NOAUTH)|invalid password|without any password/, "has a user or a password that Redis refuses"],
    [/^NOPERM/, rights],
    [/DB index is out of range/, "names a database that this Redis does not have"],
  ];
  const found = (words: readonly (readonly [RegExp, string])[]) => words.find(([begin]) => begin.test(message))?.[1];
  const text = found(lasting);
  if (text !== undefined) return { isLasting: true, text };
  const passing = found(PASSING);
  return passing === undefined ? null : { isLasting: false, text: passing };
}

/**
 * Options of a client that neither waits in a queue nor connects again by itself.
 * @param connectMs longest wait for the connection in ms
 * @param read reads the file of the certificate authority
 */
export function clientOptions<Ca>(address: RedisAddress, connectMs: number, read: (path: string) => Ca) {
  const { host, port, tls, login, database } = address;
  const common = { host, port, connectTimeout: connectMs, reconnectStrategy: false } as const;
  return {
    RESP: 2,
    socket: tls === null ? common : { ...common, tls: true as const, ...(tls.ca !== null && { ca: read(tls.ca) }) },
    ...(login !== null && { password: login.password, ...(login.name !== null && { username: login.name }) }),
    database,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
  } as const;
}
