import { deploymentStoreContract } from "./deployment-store.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) deploymentStoreContract(name, start);
