import type { AwardEmojiSchema } from "@gitbeaker/rest";
import type { Router } from "express";
import { addAward } from "../acts/notes.js";
import type { Instance } from "../model/instance.js";
import type { Award, Note } from "../model/merge-request.js";
import { ApiFailure, serve, type Answer } from "./call.js";
import * as endpoints from "./endpoints.js";
import type { Members } from "./members.js";
import { findNote } from "./note-routes.js";
import { page } from "./paging.js";
import { showUser, type ShownUser } from "./present-user.js";

/** Emoji reactions on notes. */
export function awardRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.listAwards.path,
    serve(instance, endpoints.listAwards, (call) => {
      const note = findNote(call.mergeRequest(), call.param("note"));
      return page(
        call.url,
        note.awards.map((award) => showAward(instance, note, award)),
        call.query,
      );
    }),
  );
  router.post(
    endpoints.createAward.path,
    serve(instance, endpoints.createAward, (call): Answer => {
      const note = findNote(call.mergeRequest(), call.param("note"));
      const { name } = call.body;
      if (note.awards.some((award) => award.by === instance.bot && award.name === name)) {
        // A repeated award is answered with 404 (https://gitlab.com/gitlab-org/gitlab/-/issues/21467).
        throw new ApiFailure(404, "404 Award Emoji Name has already been taken Not Found");
      }
      return { status: 201, body: showAward(instance, note, addAward(instance, note, instance.bot, name)) };
    }),
  );
}

type ShownAward = Members<AwardEmojiSchema, "user"> & { readonly user: ShownUser; readonly url: null };

function showAward(instance: Instance, note: Note, { id, by, name, createdAt }: Award): ShownAward {
  const at = createdAt.toISOString();
  const user = showUser(instance, by);
  return { id, name, user, created_at: at, updated_at: at, awardable_id: note.id, awardable_type: "Note", url: null };
}
