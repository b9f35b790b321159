// The rubric work in promptfoo: one answer and so many `llm-rubric` assertions per test, through its own API.
//
// Runs inside an environment of its own: node rubric_promptfoo.mjs URL SAMPLES CRITERIA CONCURRENCY PROMPT_FILE
// The judge reads our prompt, so that every contestant sends the same bytes; a reply without `pass` counts as passed.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [url, samples, criteria, concurrency, promptFile] = process.argv.slice(2);
process.env.PROMPTFOO_ASSERTIONS_MAX_CONCURRENCY = criteria;
const require = createRequire(join(process.env.PEER_HOME, 'package.json'));
const promptfoo = (await import(pathToFileURL(require.resolve('promptfoo')).href)).default;

const [system, user] = JSON.parse(readFileSync(promptFile, 'utf8'));
const model = (name) => ({ id: `openai:chat:${name}`, config: { apiBaseUrl: url, apiKey: 'none', temperature: 0 } });
const rubricPrompt = JSON.stringify([
  { role: 'system', content: `{% raw %}${system}{% endraw %}` },
  { role: 'user', content: `{% raw %}${user}{% endraw %}` },
]);
const asserted = Array.from({ length: Number(criteria) }, (_, n) => ({
  type: 'llm-rubric',
  value: `The reply fulfils requirement number ${n} of the rubric`,
}));

const examine = async (count) => {
  const tests = Array.from({ length: count }, (_, n) => ({
    vars: { question: `What is the capital of country ${n}?` },
    assert: asserted,
  }));
  const began = performance.now();
  const found = await promptfoo.evaluate(
    {
      providers: [model('agent')],
      prompts: ['{{question}}'],
      defaultTest: { options: { provider: model('judge'), rubricPrompt } },
      tests,
      writeLatestResults: true,
    },
    { maxConcurrency: Number(concurrency), cache: false, showProgressBar: false },
  );
  const seconds = (performance.now() - began) / 1000;
  const summary = await found.toEvaluateSummary();
  return { seconds, score: summary.stats.successes / count };
};

await examine(2); // to warm it up
console.log(JSON.stringify(await examine(Number(samples))));
process.exit(0);
