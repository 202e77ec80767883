import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { nowMs, pause } from "../clock.ts";
import { mainspringTelling } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { Course } from "../load/course.ts";
import { cpuUsOf, treeCpuUsOf } from "../meter/process-cpu.ts";
import { residentMiBOf } from "../meter/process-memory.ts";
import type { Scenario } from "./scenario.ts";

/** Number of loopback addresses that the followers have, because a server limits the connections of one address. */
const ADDRESSES = 16;
/** Number of followers that connect at once. */
const AT_ONCE = 100;
/** Time for earlier work to come to rest, in milliseconds. */
const REST_MS = 5_000;

export const followers: Scenario = {
  name: "followers",
  about: `Clients follow \`GET /v1/events\` from ${ADDRESSES} loopback addresses while nothing happens. The table shows the CPU of the server and its store in percent of one core, with the followers and before they came, and the server's memory with them.`,
  isOnRequest: true,
  cases: ({ isQuick }) => {
    const [count, lastsMs] = isQuick ? [500, 5_000] : [10_000, 60_000];
    return [
      {
        name: "followers",
        title: `${count.toLocaleString("en")} followers of /v1/events, and no events`,
        runsMax: 1,
        needs: "packages/server/src/api/events",
        contenders: [mainspringTelling],
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          const { rig } = course;
          if (!(rig instanceof MainspringRig)) throw new Error("only a server of Mainspring has followers");
          const { server, store } = rig.processes();
          const cpuUs = () =>
            server.reduce((us, pid) => us + cpuUsOf(pid), 0) + store.reduce((us, pid) => us + treeCpuUsOf(pid), 0);
          const percent = async () => {
            await pause(REST_MS);
            const [beginMs, beginUs] = [nowMs(), cpuUs()];
            await pause(lastsMs);
            return (cpuUs() - beginUs) / (nowMs() - beginMs) / 10;
          };
          const restCpuPercent = await percent();
          const sockets = await followersOf(rig.httpUrl, count);
          try {
            const cpuPercent = await percent();
            const gone = sockets.filter((socket) => socket.destroyed || socket.readableEnded).length;
            if (gone > 0) throw new Error(`${gone} of ${count} followers are gone`);
            return { cpuPercent, restCpuPercent, residentMiB: residentMiBOf(server) };
          } finally {
            for (const socket of sockets) socket.destroy();
          }
        },
      },
    ];
  },
};

async function followersOf(url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const more = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, (_, index) =>
      follow(hostname, Number(port), `127.0.0.${1 + ((sockets.length + index) % ADDRESSES)}`),
    );
    sockets.push(...(await Promise.all(more)));
  }
  return sockets;
}

/** @returns a connection whose answer has begun */
async function follow(host: string, port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host, port, localAddress });
  await once(socket, "connect");
  socket.write(`GET /v1/events HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
  const [chunk] = (await once(socket, "data")) as [Buffer];
  if (!chunk.toString().startsWith("HTTP/1.1 200 ")) throw new Error(chunk.toString());
  socket.resume();
  return socket;
}
