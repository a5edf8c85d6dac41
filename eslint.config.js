import { createNodeResolver, importX } from "eslint-plugin-import-x";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build/", "build-next/", "dist/", "release/", "site/", "coverage/", "node_modules/", "test/fixtures/"] },
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { "import-x": importX },
    settings: {
      "import-x/resolver-next": [createNodeResolver({ extensionAlias: { ".js": [".ts", ".js"] } })],
      "import-x/parsers": { "@typescript-eslint/parser": [".ts"] },
    },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      // Deprecated only to make it stand out: logins at providers on this machine, and at hosts configured with plain http.
      "@typescript-eslint/no-deprecated": [
        "error",
        { allow: [{ from: "package", package: "openid-client", name: "allowInsecureRequests" }] },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/consistent-type-definitions": ["error", "interface"],
      "@typescript-eslint/no-unnecessary-condition": [
        "error",
        { allowConstantLoopConditions: "only-allowed-literals" },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "import-x/order": [
        "error",
        {
          groups: ["builtin", "external", "parent", "sibling"],
          alphabetize: { order: "asc" },
          "newlines-between": "never",
        },
      ],
      "import-x/no-default-export": "error",
      eqeqeq: "error",
      "no-console": "error",
      curly: ["error", "multi-line"],
    },
  },
  { files: ["docs/.vitepress/config.ts"], rules: { "import-x/no-default-export": "off" } },
  {
    files: ["src/**/*.ts"],
    rules: {
      // Not `no-restricted-imports`, which takes `* as z` for an import of the names as well.
      "no-restricted-syntax": [
        "error",
        {
          selector:
            'ImportDeclaration[source.value="zod"] > :matches(ImportSpecifier[imported.name="z"], ImportDefaultSpecifier)',
          message: 'A bundle keeps all of it: write `import * as z from "zod"`.',
        },
      ],
    },
  },
  {
    files: ["demo/main.ts", "bench/**/*.ts", "scripts/house.ts", "test/contract-replay/main.ts", "test/e2e/main.ts"],
    rules: { "no-console": "off" },
  },
  {
    files: ["test/**/*.ts"],
    rules: { "@typescript-eslint/require-await": "off", "@typescript-eslint/unbound-method": "off" },
  },
);
