package ghtest

import "strconv"

// The forms of objects that the API nests everywhere. Every field that GitHub's
// description requires is there; most are constants.

func (s *Server) userJSON(login string) map[string]any {
	u := s.URL + "/users/" + login
	kind := "User"
	if len(login) > 5 && login[len(login)-5:] == "[bot]" {
		kind = "Bot"
	}
	return map[string]any{
		"login": login, "id": 583231, "node_id": "U_x", "avatar_url": "https://avatars.example/u/1", "gravatar_id": "", "type": kind, "site_admin": false,
		"url": s.URL + "/users/x", "html_url": "https://github.com/x", "followers_url": u + "/followers", "following_url": u + "/following{/other_user}",
		"gists_url": u + "/gists{/gist_id}", "starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions",
		"organizations_url": u + "/orgs", "repos_url": u + "/repos", "events_url": u + "/events{/privacy}", "received_events_url": u + "/received_events",
	}
}

func (s *Server) appJSON(slug string) map[string]any {
	return map[string]any{
		"id": 15368, "slug": slug, "node_id": "A_x", "owner": s.userJSON("github"), "name": slug, "description": "", "external_url": "https://help.github.com", "html_url": "https://github.com/apps/" + slug,
		"created_at": "2018-07-30T09:30:17Z", "updated_at": "2019-12-10T19:04:12Z", "permissions": map[string]any{"checks": "write"}, "events": []any{},
	}
}

func (s *Server) repoJSON(id int64, owner string) map[string]any {
	u, web := s.api(), s.web()
	m := map[string]any{
		"id": id, "node_id": "R_" + strconv.FormatInt(id, 10), "name": s.Repo.Name, "full_name": owner + "/" + s.Repo.Name, "owner": s.userJSON(owner),
		"private": s.Repo.Private, "fork": id != s.Repo.ID, "default_branch": s.Repo.DefaultBranch, "url": u, "html_url": web, "description": nil, "homepage": nil, "language": nil, "mirror_url": nil, "license": nil,
		"clone_url": web + ".git", "git_url": "git:github.com/" + s.Repo.FullName() + ".git", "ssh_url": "git@github.com:" + s.Repo.FullName() + ".git", "svn_url": web,
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z", "pushed_at": "2026-01-02T03:04:05Z",
		"archived": false, "disabled": false, "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_discussions": false, "has_downloads": true,
	}
	for _, n := range []string{"forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count", "watchers", "watchers_count", "network_count", "subscribers_count"} {
		m[n] = 0
	}
	for k, v := range map[string]string{
		"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}", "collaborators": "/collaborators{/collaborator}",
		"comments": "/comments{/number}", "commits": "/commits{/sha}", "compare": "/compare/{base}...{head}", "contents": "/contents/{+path}", "contributors": "/contributors", "deployments": "/deployments",
		"downloads": "/downloads", "events": "/events", "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}", "git_tags": "/git/tags{/sha}", "hooks": "/hooks",
		"issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}", "issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages",
		"merges": "/merges", "milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}", "releases": "/releases{/id}", "stargazers": "/stargazers",
		"statuses": "/statuses/{sha}", "subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
	} {
		m[k+"_url"] = u + v
	}
	return m
}

func (s *Server) pullJSON(p Pull) map[string]any {
	n := strconv.Itoa(p.Number)
	u, web := s.api()+"/pulls/"+n, s.web()+"/pull/"+n
	side := func(ref, sha string, repo any) map[string]any {
		return map[string]any{"label": s.Repo.Owner + ":" + ref, "ref": ref, "sha": sha, "user": s.userJSON(s.Repo.Owner), "repo": repo}
	}
	var head any = s.repoJSON(s.Repo.ID, s.Repo.Owner)
	switch {
	case p.HeadRepo < 0:
		head = nil
	case p.HeadRepo > 0 && p.HeadRepo != s.Repo.ID:
		head = s.repoJSON(p.HeadRepo, "contributor")
	}
	links := map[string]any{}
	for k, href := range map[string]string{
		"self": u, "html": web, "issue": s.api() + "/issues/" + n, "comments": s.api() + "/issues/" + n + "/comments", "review_comments": u + "/comments",
		"review_comment": s.api() + "/pulls/comments{/number}", "commits": u + "/commits", "statuses": s.api() + "/statuses/" + p.HeadSHA,
	} {
		links[k] = map[string]any{"href": href}
	}
	return map[string]any{
		"id": p.Number + 90000, "node_id": "PR_" + n, "number": p.Number, "state": first(p.State, "open"), "title": "x", "body": nil, "user": s.userJSON(first(p.Author, "octocat")),
		"head": side(first(p.HeadRef, "topic"), p.HeadSHA, head), "base": side(first(p.BaseRef, s.Repo.DefaultBranch), s.db.branches[first(p.BaseRef, s.Repo.DefaultBranch)], s.repoJSON(s.Repo.ID, s.Repo.Owner)),
		"url": u, "html_url": web, "diff_url": web + ".diff", "patch_url": web + ".patch", "issue_url": s.api() + "/issues/" + n, "commits_url": u + "/commits", "comments_url": s.api() + "/issues/" + n + "/comments",
		"review_comments_url": u + "/comments", "review_comment_url": s.api() + "/pulls/comments{/number}", "statuses_url": s.api() + "/statuses/" + p.HeadSHA, "_links": links,
		"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z", "closed_at": nil, "merged_at": nil, "merged": false, "merged_by": nil, "mergeable": true, "mergeable_state": "clean",
		"merge_commit_sha": orNil(p.MergeCommit), "assignee": nil, "labels": []any{}, "milestone": nil, "locked": false, "author_association": "NONE", "auto_merge": nil, "draft": false,
		"additions": 1, "deletions": 0, "changed_files": 1, "commits": 1, "comments": 0, "review_comments": 0, "maintainer_can_modify": false,
	}
}
