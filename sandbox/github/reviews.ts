import type { Pull, Review, World } from "./world.js";

export type ReviewDecision = "APPROVED" | "CHANGES_REQUESTED" | "REVIEW_REQUIRED";

/** Each person's newest review with a verdict, oldest first. */
export function latestOpinionatedReviews(world: World, pull: Pull, writersOnly: boolean): Review[] {
  const latest = new Map<number, Review>();
  for (const review of pull.reviews) {
    if (review.state === "COMMENTED") continue;
    latest.delete(review.author.id);
    latest.set(review.author.id, review);
  }
  return [...latest.values()].filter(({ author }) => !writersOnly || world.mayWrite(pull.repository, author));
}

/** Null if the base branch requires no reviews, whatever the reviews say. */
export function reviewDecision(world: World, pull: Pull): ReviewDecision | null {
  const { requiredReviews, codeOwners } = pull.repository;
  if (requiredReviews === 0 && codeOwners.length === 0) return null;
  const reviews = latestOpinionatedReviews(world, pull, true);
  if (reviews.some(({ state }) => state === "CHANGES_REQUESTED")) return "CHANGES_REQUESTED";
  const owned = codeOwners.length === 0 || reviews.some(({ author }) => codeOwners.includes(author));
  return owned && reviews.length >= requiredReviews ? "APPROVED" : "REVIEW_REQUIRED";
}
