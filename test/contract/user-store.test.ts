import { implementations } from "./stores-under-test.js";
import { userStoreContract } from "./user-store.contract.js";

for (const [name, start] of implementations) userStoreContract(name, start);
