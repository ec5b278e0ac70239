// BullMQ on Redis: 100 jobs at once, removed when completed.
import { REDIS, load, main, mark } from './contest.mjs';

const { Queue, Worker } = load('bullmq');
const address = new URL(REDIS);
const connection = { host: address.hostname, port: Number(address.port), maxRetriesPerRequest: null };
const opts = { removeOnComplete: true };

await main({
  async prepare() {},
  async producer() {
    const to = new Queue('contest', { connection });
    await to.waitUntilReady();
    return {
      one: (payload) => to.add('noop', payload, opts),
      many: (payloads) => to.addBulk(payloads.map((data) => ({ name: 'noop', data, opts }))),
    };
  },
  async work() {
    new Worker('contest', async (job) => mark(job.data.sent), { connection, concurrency: 100 });
  },
});
