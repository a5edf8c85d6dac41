import { describe, expect, test } from "@jest/globals";
import { HOST_IDS } from "../../src/names.js";
import { parseCommandLine, USAGE } from "./options.js";

const ARGOCD = ["--argocd", "https://argocd.example.com/"];

describe("arguments of the end-to-end run", () => {
  test("an address and a token are enough, and the token may come from the environment", () => {
    const options = {
      argocd: { url: "https://argocd.example.com", token: "given", insecure: false },
      git: { host: "127.0.0.1", port: 0, url: undefined },
      hosts: HOST_IDS,
      cluster: "https://kubernetes.default.svc",
      project: undefined,
      log: undefined,
    };
    expect(parseCommandLine([...ARGOCD, "--token", "given"], "other")).toEqual({ kind: "run", options });
    expect(parseCommandLine(ARGOCD, "given")).toEqual({ kind: "run", options });
  });

  test("everything else may be chosen", () => {
    const listen = ["--git-listen", "[::1]:8099", "--git-url", "https://tunnel.example.com/"];
    const others = ["--cluster", "staging", "--project", "trial", "--host", "gitlab", "--log", "debug", "--insecure"];
    expect(parseCommandLine([...ARGOCD, ...listen, ...others, "--clean"], "token")).toEqual({
      kind: "clean",
      options: {
        argocd: { url: "https://argocd.example.com", token: "token", insecure: true },
        git: { host: "::1", port: 8099, url: "https://tunnel.example.com" },
        hosts: ["hostb"],
        cluster: "staging",
        project: "trial",
        log: "debug",
      },
    });
  });

  test.each<[readonly string[], string]>([
    [[], "--argocd is missing"],
    [["--argocd", "argocd.example.com"], "--argocd must be an address that starts with http:// or https://"],
    [["--argocd", "https://ana:secret@argocd.example.com"], "--argocd must not hold credentials"],
    [ARGOCD, "there is no token: set the variable ARGOCD_TOKEN, or give --token"],
    [[...ARGOCD, "--token", "t", "--git-listen", "172.18.0.1"], "--git-listen must be HOST:PORT, such as 172.18.0.1:0"],
    [
      [...ARGOCD, "--token", "t", "--git-listen", "172.18.0.1:70000"],
      "--git-listen must be HOST:PORT, such as 172.18.0.1:0",
    ],
    [
      [...ARGOCD, "--token", "t", "--git-listen", "0.0.0.0:8099"],
      "--git-listen 0.0.0.0:8099 is every address of this machine: say with --git-url which one Argo CD uses",
    ],
    [[...ARGOCD, "--token", "t", "--git-url", "https://git.example.com/code"], "--git-url must not have a path"],
    [[...ARGOCD, "--token", "t", "--host", "bitbucket"], "--host must be github or gitlab"],
    [[...ARGOCD, "--token", "t", "--log", "loud"], "--log must be one of debug, info, warn, error"],
  ])("%j is refused: %s", (argv, message) => {
    expect(parseCommandLine(argv, undefined)).toEqual({ kind: "invalid", message });
  });

  test("an unknown option is refused, and --help wins", () => {
    const invalid = { kind: "invalid", message: expect.stringContaining("'--argo'") };
    expect(parseCommandLine(["--argo", "x"], "t")).toEqual(invalid);
    expect(parseCommandLine(["--help"], undefined)).toEqual({ kind: "help" });
  });

  test("the usage names every option", () => {
    const options = [
      "argocd",
      "token",
      "insecure",
      "git-listen",
      "git-url",
      "cluster",
      "project",
      "host",
      "log",
      "clean",
    ];
    for (const name of options) expect(USAGE).toMatch(new RegExp(`^ {2}--${name} `, "m"));
  });
});
