/* SPDX-License-Identifier: MIT */
/* lull doctor: what the instruments can measure beside lull. */
#include "inspect/doctor/doctor.h"

#include <stdio.h>

#include "common/peers.h"

void doctor_say_peers(struct report *r)
{
	const char *library, *why;
	size_t i;

	peers_load(NULL);
	doctor_say(r, "peers", "%s", *peers_versions() ? peers_versions() : "none");
	for (i = 0; (library = peers_missing(i, &why)); i++) {
		char key[64];

		snprintf(key, sizeof(key), "peer %s", library);
		doctor_say(r, key, "%s", why);
	}
}
