import { enforce } from "../accounts.js";
import { invalid } from "../api-error.js";
import { isResourcesFinalizer, removeTracked } from "../controller/live-objects.js";
import { runDeletionHooks } from "../controller/sync-tasks.js";
import { findApplication } from "../find-application.js";
import { SourceFailure } from "../render/renderer.js";
import { skipsReconcile, sourcesOf, type Application } from "../resource.js";
import type { EndpointId } from "../schemas/endpoints.js";
import { accountOf, flag, text, type Call, type Handler } from "./call.js";

export const deleteRoutes = {
  async delete(call) {
    const { world } = call;
    const account = accountOf(call);
    const wanted = {
      name: call.parameters.name ?? "",
      namespace: text(call, "appNamespace"),
      project: text(call, "project"),
    };
    const application = findApplication(world, account, "get", wanted);
    enforce(account, "applications", "delete", world.rbacNameOf(application));
    const cascade = flag(call, "cascade", true);
    const policy = text(call, "propagationPolicy");
    if (!cascade && policy !== undefined) throw invalid("cannot set propagation policy when cascading is disabled");
    if (policy !== undefined && !["foreground", "background"].includes(policy.toLowerCase())) {
      throw invalid(`invalid propagation policy: ${policy}`);
    }
    const others = (application.metadata.finalizers ?? []).filter((one) => !isResourcesFinalizer(one));
    const own = `resources-finalizer.argocd.argoproj.io${policy === undefined ? "" : `/${policy.toLowerCase()}`}`;
    application.metadata.finalizers = cascade ? [...others, own] : others;
    world.log(account, "delete", application);
    await finalize(call, application);
    return {};
  },
} satisfies Partial<Record<EndpointId, Handler>>;

/** Works off the finalizers and removes the object. With skip-reconcile, finalizers keep it in deletion forever. */
async function finalize({ world, controller }: Call, application: Application): Promise<void> {
  const finalizers = application.metadata.finalizers ?? [];
  if (finalizers.length > 0 && skipsReconcile(application)) {
    application.metadata.deletionTimestamp = world.timestamp();
    world.touch(application);
    return;
  }
  const hooks = (phase: "pre" | "post"): boolean =>
    finalizers.some((one) => one.startsWith(`${phase}-delete-finalizer.`));
  const manifests = hooks("pre") || hooks("post") ? await target() : [];
  if (hooks("pre")) runDeletionHooks(world, application, manifests, "PreDelete");
  if (finalizers.some(isResourcesFinalizer)) removeTracked(world, application);
  if (hooks("post")) runDeletionHooks(world, application, manifests, "PostDelete");
  world.remove(application);
  controller.markParentsStale(application);

  async function target(): Promise<Awaited<ReturnType<typeof controller.target>>["manifests"]> {
    try {
      return (await controller.target(application, await world.renderer.resolve(sourcesOf(application.spec))))
        .manifests;
    } catch (error) {
      if (error instanceof SourceFailure) return [];
      throw error;
    }
  }
}
