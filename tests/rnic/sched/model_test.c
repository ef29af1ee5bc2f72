/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The decisions of rnic/sched/ on machines of one, two and many CPUs: two
 * programs send a message to and fro, each with its completion thread.
 *
 * A machine advances in steps of STEP_NS.  In each, every CPU runs one thread
 * for one step.  As with Linux, a thread that wakes up runs at once only if it
 * has had less of the CPU than the one that runs there; else at the next tick,
 * or when that one sleeps or yields.  A message wakes the peer's completion
 * thread on the CPU of the sender.
 */
#include "test.h"

#include <string.h>

#include "sched/sched.h"
#include "util/clock.h"

#define STEP_NS 500u
#define TICK_NS (4 * NS_PER_MS)
#define SPIN_NS 30000u
#define HAND_OVER_NS 15000u
#define CPU_MAX 8
#define THREADS 4
/* Steps that a completion thread needs to serve. */
#define SERVE_STEPS 16

struct thread {
	bool is_asleep;
	uint64_t until_ns; /* it sleeps at most so long; 0: it is woken */
	uint64_t ran_ns;   /* what it has had of CPUs */
	int cpu;
};

enum kind { SPINNER, POLLER };

struct program {
	struct rnic_sched sched;
	struct thread *self, *completion;
	struct program *peer;
	uint32_t has_octets;  /* messages in memory, unread */
	uint32_t has_message; /* ... placed, for the program */
	uint64_t posted_ns;
	uint64_t give_until_ns; /* it hands its CPU over */
	enum rnic_sched_next next;
	uint64_t next_until_ns, park_ns;
	uint32_t serve_steps, park_no;
	bool is_parked, is_called;
};

static struct {
	int cpu_cnt;
	enum kind kind;
	bool ignores; /* what posts and polls are told */
	uint64_t now_ns;
	struct thread threads[THREADS];
	struct thread *runs[CPU_MAX];
	struct program programs[2];
	uint32_t trips;
	uint32_t late_cnt;
	uint64_t sum_ns, lost_cnt, yields;
} model;

/* ---- the scheduler of the machine ---------------------------------------- */

/* The one that waits on the CPU and has had the least. */
static struct thread *next_of(int cpu)
{
	struct thread *found = NULL;

	for (int i = 0; i < THREADS; i++) {
		struct thread *thread = &model.threads[i];

		if (thread->cpu == cpu && !thread->is_asleep &&
		    thread != model.runs[cpu] &&
		    (!found || thread->ran_ns < found->ran_ns))
			found = thread;
	}
	return found;
}

static int idle_cpu(void)
{
	for (int cpu = 0; cpu < model.cpu_cnt; cpu++) {
		if (!model.runs[cpu] && !next_of(cpu))
			return cpu;
	}
	return -1;
}

static void run(int cpu, struct thread *thread)
{
	if (model.runs[cpu] && !model.runs[cpu]->is_asleep)
		model.lost_cnt++;
	model.runs[cpu] = thread;
}

static void yield(struct thread *thread)
{
	struct thread *next = next_of(thread->cpu);

	model.yields++;
	if (next)
		run(thread->cpu, next);
}

static void wake(struct thread *thread, int by_cpu)
{
	int idle = idle_cpu();
	uint64_t least = UINT64_MAX;

	if (!thread->is_asleep)
		return;
	thread->is_asleep = false;
	thread->until_ns = 0;
	thread->cpu = idle >= 0 ? idle : by_cpu;
	/* It brings no credit along. */
	for (int i = 0; i < THREADS; i++) {
		if (!model.threads[i].is_asleep &&
		    &model.threads[i] != thread &&
		    model.threads[i].ran_ns < least)
			least = model.threads[i].ran_ns;
	}
	if (least != UINT64_MAX && thread->ran_ns < least)
		thread->ran_ns = least;
	if (!model.runs[thread->cpu] ||
	    thread->ran_ns < model.runs[thread->cpu]->ran_ns)
		run(thread->cpu, thread);
}

static void sleep_until(struct thread *thread, uint64_t ns)
{
	thread->is_asleep = true;
	thread->until_ns = ns;
	model.runs[thread->cpu] = NULL;
	model.runs[thread->cpu] = next_of(thread->cpu);
}

/* ---- the programs -------------------------------------------------------- */

static void serve_octets(struct program *program)
{
	if (!program->has_octets)
		return;
	program->has_octets = 0;
	program->has_message++;
	rnic_sched_note_arrival(&program->sched);
	if (model.kind == SPINNER)
		rnic_sched_note_write(&program->sched);
}

static void post(struct program *program)
{
	struct program *peer = program->peer;
	enum rnic_sched_after after;

	if (rnic_burst_post(&program->sched.burst) &&
	    rnic_burst_waits(&program->sched.burst, &program->sched.polls))
		return; /* its next poll transmits it: here, at once */
	after = rnic_sched_post(&program->sched, true);
	peer->has_octets++;
	if (!peer->is_parked)
		wake(peer->completion, program->self->cpu);
	if (model.ignores)
		after = RNIC_AFTER_GO_ON;
	if (after & RNIC_AFTER_HAND_OVER)
		program->give_until_ns = model.now_ns + HAND_OVER_NS;
	if (after)
		yield(program->self);
}

static void take_message(struct program *program)
{
	uint64_t ns = model.now_ns - program->posted_ns;

	program->has_message = 0;
	if (program->posted_ns && program == &model.programs[0]) {
		model.trips++;
		model.sum_ns += ns;
		model.late_cnt += ns >= NS_PER_MS;
	}
	program->posted_ns = model.now_ns;
	post(program);
}

static void step_program(struct program *program)
{
	if (program->give_until_ns > model.now_ns && program->peer->has_octets)
		yield(program->self);
	else if (program->has_message)
		take_message(program);
	else if (model.kind == SPINNER)
		return;
	else if (rnic_polls_yield(&program->sched.polls) && !model.ignores)
		yield(program->self);
	else {
		rnic_polls_note(&program->sched.polls, model.now_ns);
		if (rnic_burst_poll(&program->sched.burst,
				    &program->sched.polls)) {
			program->is_called = true;
			wake(program->completion, program->self->cpu);
		}
		serve_octets(program);
	}
}

/* ---- the completion threads ---------------------------------------------- */

static void park(struct program *program)
{
	program->park_ns = rnic_sched_park_ns(&program->sched, model.now_ns,
					      program->park_ns);
	if (program->park_ns && !program->is_called) {
		program->is_parked = true;
		sleep_until(program->completion,
			    model.now_ns + program->park_ns);
		return;
	}
	program->is_parked = false;
	if (program->has_octets)
		rnic_sched_parked(&program->sched, model.now_ns,
				  program->park_no != rnic_sched_arrival_no(
							      &program->sched));
	program->next = RNIC_NEXT_SLEEP;
}

static void begin_park(struct program *program)
{
	program->next = RNIC_NEXT_PARK;
	program->park_no = rnic_sched_arrival_no(&program->sched);
	program->park_ns = 0;
	rnic_burst_watch(&program->sched.burst);
	park(program);
}

static void serve(struct program *program)
{
	if (program->serve_steps++ < SERVE_STEPS)
		return;
	program->serve_steps = 0;
	program->is_called = false;
	serve_octets(program);
	if (rnic_cpu_is_due(&program->sched.cpu, model.now_ns))
		rnic_sched_note_cpu(&program->sched, model.now_ns,
				    model.lost_cnt);
	program->next = rnic_sched_served(&program->sched, model.now_ns);
	program->next_until_ns = model.now_ns + SPIN_NS;
	if (program->next == RNIC_NEXT_PARK)
		begin_park(program);
}

static void step_completion(struct program *program)
{
	struct rnic_sched *sched = &program->sched;

	switch (program->next) {
	case RNIC_NEXT_SERVE:
		serve(program);
		return;
	case RNIC_NEXT_PARK:
		park(program);
		return;
	case RNIC_NEXT_SPIN:
		if (!program->has_octets &&
		    model.now_ns < program->next_until_ns &&
		    rnic_sched_spins_on(sched, model.now_ns))
			return;
		rnic_sched_spun(sched, program->has_octets);
		break;
	case RNIC_NEXT_SLEEP:
		break;
	}
	if (!program->has_octets && !program->is_called) {
		rnic_burst_unwatch(&sched->burst);
		program->next = RNIC_NEXT_SLEEP;
		sleep_until(program->completion, 0);
		return;
	}
	program->next = rnic_sched_woke(
		sched, model.now_ns, program->has_octets, program->is_called);
	if (program->next == RNIC_NEXT_PARK)
		begin_park(program);
}

/* ---- the machine --------------------------------------------------------- */

static void step_thread(struct thread *thread)
{
	struct program *program = &model.programs[(thread - model.threads) / 2];

	thread->ran_ns += STEP_NS;
	if (thread == program->self)
		step_program(program);
	else
		step_completion(program);
}

static void step(void)
{
	model.now_ns += STEP_NS;
	for (int i = 0; i < THREADS; i++) {
		struct thread *thread = &model.threads[i];

		if (thread->until_ns && thread->until_ns <= model.now_ns)
			wake(thread, thread->cpu);
	}
	for (int cpu = 0; cpu < model.cpu_cnt; cpu++) {
		struct thread *next = next_of(cpu);

		if (next && (!model.runs[cpu] ||
			     (model.now_ns % TICK_NS == 0 &&
			      next->ran_ns < model.runs[cpu]->ran_ns)))
			run(cpu, next);
		if (model.runs[cpu])
			step_thread(model.runs[cpu]);
	}
}

static void play(int cpu_cnt, enum kind kind, bool ignores, uint64_t ns)
{
	memset(&model, 0, sizeof(model));
	model.cpu_cnt = cpu_cnt;
	model.kind = kind;
	model.ignores = ignores;
	model.now_ns = TICK_NS;
	for (int i = 0; i < 2; i++) {
		struct program *program = &model.programs[i];

		rnic_sched_init(&program->sched);
		program->sched.cpu.is_limited = cpu_cnt < 2;
		program->self = &model.threads[2 * i];
		program->completion = &model.threads[2 * i + 1];
		program->peer = &model.programs[!i];
		program->completion->is_asleep = true;
		program->self->cpu = i % cpu_cnt;
		program->completion->cpu = !i % cpu_cnt;
	}
	model.programs[0].has_message = 1;
	while (model.now_ns < ns)
		step();
}

/* ---- cases --------------------------------------------------------------- */

#define PLAY_NS (500 * NS_PER_MS)

static const struct {
	const char *name;
	int cpu_cnt;
	enum kind kind;
	uint64_t mean_max_ns;
	/* Trips of a millisecond or more, if nobody gives up the CPU. */
	uint32_t late_min;
	bool may_yield;
} machines[] = {
	{ "spinners, 2 CPUs", 2, SPINNER, 30000, 40, true },
	{ "spinners, 8 CPUs", 8, SPINNER, 20000, 0, false },
	{ "pollers, 1 CPU", 1, POLLER, 100000, 50, true },
	{ "pollers, 2 CPUs", 2, POLLER, 5000, 0, false },
	{ "pollers, 8 CPUs", 8, POLLER, 5000, 0, false },
};

#define LATE_MAX 5u

CASE(messages_do_not_wait_for_the_tick)
{
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		const char *name = machines[i].name;

		play(machines[i].cpu_cnt, machines[i].kind, false, PLAY_NS);
		assert_row(name, model.trips > 1000);
		assert_row(name, model.sum_ns / model.trips <=
					 machines[i].mean_max_ns);
		assert_row(name, model.late_cnt <= LATE_MAX);
		assert_row(name, machines[i].may_yield ||
					 model.yields < model.trips / 100);
	}
}

/* The machines are such that the decisions matter. */
CASE(messages_wait_if_nobody_gives_up_the_cpu)
{
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		play(machines[i].cpu_cnt, machines[i].kind, true, PLAY_NS);
		assert_row(machines[i].name,
			   model.late_cnt >= machines[i].late_min);
	}
}
