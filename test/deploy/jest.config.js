import everything from "../../jest.config.js";

const { globalSetup, globalTeardown, ...base } = everything;

/**
 * Checks of the chart and of the manifests, which need Helm and Kustomize: `npm run check:deploy`.
 * @type {import("jest").Config}
 */
export default { ...base, rootDir: "../..", testMatch: ["<rootDir>/test/deploy/*.check.ts"] };
