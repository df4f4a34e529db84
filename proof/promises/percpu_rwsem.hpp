240aa0 percpu_rwsem.hpp - the lock of percpu_rwsem.h | run.rwsem:excludes run.rwsem:tries
6d8360 std::shared_lock takes it for reading; std::lock_guard, | run.rwsem:excludes run.rwsem:tries
4be7ea This header includes neither <mutex> nor | ctest:cxx_rwsem
e014f6 Contexts and misuse are those of | explains
872f93 A struct lull_percpu_rwsem, and nothing else: | run.rwsem:is_the_structure
f95bbd Nobody holds it, and no other | untested: a demand on the caller: the destructor aborts, as percpu_rwsem.h says
704784 For writing: waits until no reader | run.rwsem:excludes
cc4528 Cannot fail. | count.public.percpu_rwsem:storm
765e9d Returns false if somebody holds it. | run.rwsem:tries
a7da88 For reading: waits while a writer | run.rwsem:excludes
cc4528 Cannot fail. | count.public.percpu_rwsem:storm
ec0a60 Returns false if it would have | run.rwsem:tries
75095a Another thread than the one that | run.rwsem:tries
