# pg_trim: built by PGXS against the server that PG_CONFIG belongs to.
#
#	make && make install		build and install
#	make installcheck			pg_regress, isolation and TAP tests
#	make check-unit				tests that need no server

MODULE_big = pg_trim
OBJS = pg_trim.o $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))

EXTENSION = pg_trim
DATA = pg_trim--1.0.sql
PGFILEDESC = "pg_trim - give free memory back to the operating system"

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --inputdir=. --temp-config=test/postgresql.conf
ISOLATION = $(patsubst specs/%.spec,%,$(sort $(wildcard specs/*.spec)))
ISOLATION_OPTS = --inputdir=.
TAP_TESTS = 1

EXTRA_CLEAN = test/policy

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# malloc_trim() is used where the C library has it, as Emacs' configure decides.
# PGTRIM_MALLOC_TRIM=no builds as if it had not.
PGTRIM_MALLOC_TRIM ?= $(shell $(CC) -o /dev/null config/malloc_trim.c >/dev/null 2>&1 && echo yes || echo no)
ifeq ($(PGTRIM_MALLOC_TRIM),yes)
override CPPFLAGS += -DHAVE_MALLOC_TRIM
endif

override CFLAGS += -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers

$(OBJS): $(wildcard src/*.h)

# The policy is a set of pure functions: tested without a server.
test/policy: test/policy.c src/policy.c src/policy.h
	$(CC) $(CFLAGS) $(CPPFLAGS) -o $@ test/policy.c src/policy.c

check-unit: test/policy
	test/policy

.PHONY: check-unit
