DROP TABLE IF EXISTS formsvc_version, attempts, arrivals, upkeep, deliveries, events, destinations, webhooks, funnel_days, funnel_minutes,
    funnel_log, unique_answers, unique_progress, submission_history, submissions, form_lifetime, form_removals, form_limits, documents, partials, forms, workspace_users, workspaces, api_keys;
DROP SEQUENCE IF EXISTS delivery_tokens;
DROP DOMAIN IF EXISTS id, revision, seconds, byte_count, counter, small_counter, attempt_number, copy_number, urgency, pause_reason, http_status, microseconds, token_digest;
