// What the scripts of all Node contestants share; the same commands and marks as contest.py, which explains them.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

export const POSTGRES = process.env.CONTEST_POSTGRES;
export const REDIS = process.env.CONTEST_REDIS;
const MARKS = process.env.CONTEST_MARKS;
const CALL = 1000;
const GAP_MS = 20;
const PUBLISH_MS = 20;

/** Loads a package from the folder that npm installed it into. */
export const load = createRequire(path.join(process.env.CONTEST_NODE, 'package.json'));

const now = () => process.hrtime.bigint();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const payload = (sent = 0) => ({ sent, to: 'someone@example.com', subject: 'hello', body: 'x'.repeat(120) });

// Marks: counted in memory, since Node has no shared pages, and written out by a timer.

let first = 0n;
let last = 0n;
let count = 0n;
let pickups;

function open() {
  const marks = fs.openSync(path.join(MARKS, `marks.${process.pid}`), 'w');
  pickups = fs.openSync(path.join(MARKS, `pickups.${process.pid}`), 'a');
  setInterval(() => {
    fs.writeSync(marks, Buffer.from(BigInt64Array.of(first, last, count).buffer), 0, 24, 0);
  }, PUBLISH_MS);
}

/** The first thing that every handler does, and the only one. */
export function mark(sent) {
  const at = now();
  if (pickups === undefined) open();
  if (sent) {
    fs.writeSync(pickups, `${Math.round(Number(at) - sent)}\n`);
  } else {
    first ||= at;
    last = at;
    count += 1n;
  }
}

// Enqueueing

async function enqueue(producer, command, jobs) {
  const bulks = [];
  if (command === 'many') {
    for (let begun = 0; begun < jobs; begun += CALL) {
      bulks.push(Array.from({ length: Math.min(CALL, jobs - begun) }, () => payload()));
    }
  }
  const begun = now();
  if (command === 'many') {
    for (const bulk of bulks) await producer.many(bulk);
  } else if (command === 'one') {
    for (let done = 0; done < jobs; done++) await producer.one(payload());
  } else {
    for (let done = 0; done < jobs; done++) {
      await producer.one(payload(Number(now())));
      await sleep(GAP_MS);
    }
  }
  return Number(now() - begun) / 1e9;
}

// Commands

/** `contestant` has prepare(), producer() → {one, many} and work(). */
export async function main(contestant) {
  const [command, jobs = 0, warm = 0] = process.argv.slice(2).map((word, at) => (at ? Number(word) : word));
  if (command === 'work') {
    await theWord();
    await contestant.work();
    return;
  }
  if (command === 'prepare') {
    await contestant.prepare();
  } else {
    const producer = await contestant.producer();
    await enqueue(producer, command, warm);
    console.log(await enqueue(producer, command, jobs));
  }
  process.exit(0);
}

/** Everything is imported. From here on the end of the benchmark ends this process, however that came. */
function theWord() {
  fs.writeFileSync(path.join(MARKS, `ready.${process.pid}`), '');
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL'));
  return new Promise((resolve) => process.stdin.once('data', resolve));
}
