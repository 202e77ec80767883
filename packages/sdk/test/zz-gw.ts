import { assign, TinyGateway } from "./tiny-gateway.ts";

const N = Number(process.argv[2] ?? 400000),
  CREDIT = Number(process.argv[3] ?? 1100);
const g = await TinyGateway.start();
process.send?.(g.address);
const s = await g.stream();
await s.next((m) => m.hello !== undefined);
s.send({ welcome: { heartbeatIntervalMs: 1000, gateway: "g", nowMs: 0n } });
let sent = 0,
  done = 0;
const payload = Buffer.from('{"a":1}');
const t0 = performance.now();
let msgs = 0,
  started = 0;
function feed(k: number, acks: any[]) {
  const assigns = [];
  for (let i = 0; i < k && sent < N; i++, sent++)
    assigns.push(assign("0190f0a0-0000-7000-8000-" + String(sent).padStart(12, "0"), { payload }));
  s.send({ assigns, acks });
}
feed(CREDIT, []);
while (done < N) {
  const m = await s.next((m) => m.finished.length > 0 || m.started.length > 0);
  msgs++;
  started += m.started.length;
  done += m.finished.length;
  feed(
    m.finished.length,
    m.finished.map((f) => f.token),
  );
}
const ms = performance.now() - t0;
console.log(
  Math.round((N / ms) * 1000),
  "jobs/s over grpc;",
  "cpu gateway us/job",
  (process.cpuUsage().user + process.cpuUsage().system) / N,
  "messages",
  msgs,
  "started",
  started,
);
process.send?.("done");
process.disconnect?.();
s.send({ drain: true });
await s.ended;
g.stop();
