// pg-boss: 500 jobs per call of the handler, the next batch at once while batches are full, LISTEN and NOTIFY.
import { POSTGRES, load, main, mark } from './contest.mjs';

const { PgBoss } = load('pg-boss');

async function boss() {
  const started = new PgBoss({ connectionString: POSTGRES, max: 10, useListenNotify: true });
  started.on('error', console.error);
  await started.start();
  return started;
}

await main({
  async prepare() {
    await (await boss()).createQueue('noop', { notify: true });
  },
  async producer() {
    const to = await boss();
    return {
      one: (payload) => to.send('noop', payload),
      many: (payloads) => to.insert('noop', payloads.map((data) => ({ data }))),
    };
  },
  async work() {
    const options = { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    await (await boss()).work('noop', options, async (jobs) => {
      for (const job of jobs) mark(job.data.sent);
    });
  },
});
