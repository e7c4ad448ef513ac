// Adds search, copy buttons, the server URL and the current section to the page.
(() => {
	"use strict";
	const all = (selector, root = document) => [...root.querySelectorAll(selector)];

	// If the service does not know its own URL, the URL of the page is used.
	const server = document.querySelector("[data-server]");
	if (!server.textContent.includes("://")) {
		server.textContent = location.origin + (server.textContent === "/" ? "" : server.textContent);
		for (const code of all(".sample code")) code.textContent = code.textContent.replaceAll("https://api.example.com", location.origin);
	}

	// An entry must contain all words of the search.
	const search = document.getElementById("search");
	const entries = all("[data-find]").map((item) => [item, item.dataset.find.toLowerCase()]);
	const contents = document.querySelector(".toc details");
	const narrow = matchMedia("(max-width: 820px)");
	contents.open = !narrow.matches;
	search.closest("p").hidden = false;
	search.addEventListener("input", () => {
		const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
		let found = false;
		for (const [item, text] of entries) {
			item.hidden = !words.every((word) => text.includes(word));
			found ||= !item.hidden;
		}
		for (const part of all(".toc .part")) part.hidden = words.length > 0 && !part.querySelector("li:not([hidden])");
		document.querySelector(".toc .none").hidden = found;
		if (words.length > 0) contents.open = true;
	});
	search.addEventListener("keydown", (event) => {
		if (event.key === "Enter") entries.find(([item]) => !item.hidden)?.[0].querySelector("a").click();
		if (event.key === "Escape") {
			search.value = "";
			search.dispatchEvent(new Event("input"));
		}
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && !event.ctrlKey && !event.metaKey && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
			event.preventDefault();
			search.focus();
		}
	});

	// On narrow screens, selecting an entry closes the contents.
	contents.addEventListener("click", (event) => {
		if (event.target.closest("a") && narrow.matches) contents.open = false;
	});

	// Copy buttons.
	if (navigator.clipboard) {
		for (const pre of all(".code pre")) {
			const button = document.createElement("button");
			button.type = "button";
			button.className = "copy";
			button.textContent = "Copy";
			button.setAttribute("aria-label", "Copy " + pre.getAttribute("aria-label"));
			button.addEventListener("click", async () => {
				await navigator.clipboard.writeText(pre.textContent);
				button.textContent = "Copied";
				setTimeout(() => (button.textContent = "Copy"), 1500);
			});
			pre.before(button);
		}
	}

	// Opens the details elements around the target of a link.
	const unfold = () => {
		let target = null;
		try {
			target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
		} catch {}
		for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
	};
	addEventListener("hashchange", unfold);
	unfold();

	// Marks the visible operation in the contents.
	const links = new Map(all(".toc li a").map((link) => [link.hash.slice(1), link]));
	const watch = new IntersectionObserver((seen) => {
		for (const entry of seen) {
			if (!entry.isIntersecting) continue;
			for (const link of links.values()) link.removeAttribute("aria-current");
			links.get(entry.target.id)?.setAttribute("aria-current", "true");
		}
	}, { rootMargin: "-15% 0px -75%" });
	for (const section of all(".operation, .schema")) watch.observe(section);
})();
