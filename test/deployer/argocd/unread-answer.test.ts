import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import * as z from "zod";
import { arrayAnswer, JsonElements, readArray, readWhole } from "../../../src/deployer/argocd/unread-answer.js";
import { localServer, type LocalServer } from "../../local-server.js";
import { failureOf, renderRequest, underTest } from "./under-test.js";

const MEBIBYTE = 1024 * 1024;

/** Cuts a text into pieces of some bytes. */
function cut(text: string, size: number, member = "items"): { readonly elements: string[]; readonly rest: string } {
  const elements: string[] = [];
  const found = new JsonElements(member, (element) => elements.push(element));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) found.add(bytes.subarray(at, at + size));
  return { elements, rest: found.rest() };
}

describe("the elements of an array are cut out of a text", () => {
  test("wherever its pieces end", () => {
    const answer = fc.record({ before: fc.jsonValue(), items: fc.array(fc.jsonValue()), after: fc.jsonValue() });
    fc.assert(
      fc.property(answer, fc.integer({ min: 1, max: 30 }), fc.constantFrom(0, 2), (value, size, indent) => {
        const { elements, rest } = cut(JSON.stringify(value, null, indent), size);
        expect(elements.map((one) => JSON.parse(one) as unknown)).toEqual(JSON.parse(JSON.stringify(value.items)));
        expect(JSON.parse(rest)).toEqual({
          ...(JSON.parse(JSON.stringify(value)) as object),
          items: value.items.map(() => 0),
        });
      }),
    );
  });

  test.each([
    ['{"items":[1,"a]\\"",{"b":[2]}],"more":[3]}', ["1", '"a]\\""', '{"b":[2]}'], '{"items":[0,0,0],"more":[3]}'],
    ['{ "items" : [ ] }', [], '{ "items" : [ ] }'],
    ['{"items":null}', [], '{"items":null}'],
    ['{"in":{"items":[1]}}', [], '{"in":{"items":[1]}}'],
    ['{"other":"items","more":[1]}', [], '{"other":"items","more":[1]}'],
    ['[{"items":[1]}]', [], '[{"items":[1]}]'],
  ])("%s", (text, elements, rest) => {
    expect(cut(text, 3)).toEqual({ elements, rest });
  });
});

const answer = arrayAnswer("items", z.string());
const read = (text: string) => readArray(answer, { gzip: gzipSync(text) }, "it", (one) => one.toUpperCase());

describe("an array is read in a packed answer as in a text", () => {
  test.each(['{"items":["a","b"],"x":[1]}', '{"items":[]}', '{"items":null}', "{}"])("%s", async (text) => {
    expect(await read(text)).toEqual(await readArray(answer, text, "it", (one) => one.toUpperCase()));
  });

  test.each([
    ['{"items":["a",]}', /incomplete or not JSON/],
    ['{"items":["a" "b"]}', /incomplete or not JSON/],
    ['{"items":["a"}]', /incomplete or not JSON/],
    ['{"items":["a"]', /incomplete or not JSON/],
    ['{"items":["a"]}}', /incomplete or not JSON/],
    ['{"items":["a', /incomplete or not JSON/],
    ['{"items":["a",1]}', /^Argo CD's answer about it is not as expected/],
    ['{"items":"a"}', /^Argo CD's answer about it is not as expected \(items\)/],
    ["[]", /^Argo CD's answer about it is not as expected \(the answer itself\)/],
  ])("%s is refused", async (text, message) => {
    expect((await failureOf(read(text))).message).toMatch(message);
    expect((await failureOf(readArray(answer, text, "it", (one) => one))).message).toMatch(message);
  });

  test.each(['{"items":["a"],"items":["b"]}', '{"ite\\u006ds":["a"]}'])(
    "what Argo CD never writes is refused rather than read differently: %s",
    async (text) => {
      expect((await failureOf(read(text))).message).toMatch(/not as expected \(items/);
    },
  );

  test("bytes that end too early", async () => {
    const gzip = gzipSync('{"items":["a"]}').subarray(0, -9);
    const failures = [readArray(answer, { gzip }, "it", String), readWhole({ gzip })].map(failureOf);
    for (const failure of await Promise.all(failures)) expect(failure.message).toMatch(/incomplete or not JSON/);
  });

  test("one over 64 MiB", async () => {
    const gzip = gzipSync(Buffer.alloc(65 * MEBIBYTE, 32));
    const failures = [readArray(answer, { gzip }, "it", String), readWhole({ gzip })].map(failureOf);
    for (const failure of await Promise.all(failures)) expect(failure.message).toMatch(/larger than 64 MiB/);
  });
});

describe("a large render comes packed", () => {
  let server: LocalServer | undefined;
  afterEach(() => server?.stop());

  async function rendering(answered: string | Buffer) {
    server = await localServer((request, response) => {
      if (request.url === "/api/v1/settings") return void response.end('{"controllerNamespace":"argocd"}');
      response.setHeader("content-encoding", "gzip").end(gzipSync(answered));
    });
    return underTest({ serverUrl: server.url });
  }

  /** So that gzip does not make it small. */
  const noise = (length: number) =>
    Array.from(
      { length },
      (_, index) => String.fromCharCode(97 + ((index * index * 31) % 26)) + index.toString(36),
    ).join("");

  test("and is read like any other", async () => {
    const manifest = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "large" },
      data: { text: noise(20_000) },
    };
    const { deployer } = await rendering(JSON.stringify({ manifests: [JSON.stringify(manifest), "null"] }));
    expect(await deployer.renderManifests(renderRequest())).toEqual([manifest]);
    await deployer.close();
  });

  test("as a login page that names the setting", async () => {
    const { deployer } = await rendering(`\n<!doctype html><p>${noise(20_000)}`);
    expect((await failureOf(deployer.renderManifests(renderRequest()))).message).toMatch(/HTML page instead of JSON/);
    await deployer.close();
  });
});
