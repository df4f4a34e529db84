a20a22 list.hpp - the lists of list.h | run.lists:holds_elements run.lists:is_read_while_it_changes
82f779 list.h says what readers see. | explains
1b7658 A list owns nothing, and each | run.lists:owns_nothing ctest:cxx_code_g++_c++17 ctest:cxx_code_clang++-14_c++17
5cc028 Nothing allocates, waits (but for splice_back()) | run.lists:neither_allocates_nor_waits run.lists:throws_nothing
bcedbd Readers are in a read section, | run.lists:is_read_while_it_changes check.public.check:guarded
5fd053 An element that was erased or | explains
c73924 A circular list. | run.lists:is_a_ring
c36d7a @Member is the address of the | cxx:lists run.lists:is_a_ring run.lists:walks_back run.lists:keeps_the_way_back
c0e0f7 Go on behind @element, which was | run.lists:holds_elements
2d0618 From the last to the first. | run.lists:walks_back
7a5424 NULL: it is empty. | run.lists:holds_elements
d08f91 Without the lock the answer is | explains
a261f8 Any context. | run.lists:is_asked_in_a_handler
c55a3b for (T &element : list.locked()): the | run.lists:holds_elements
a027f6 Take @element off. | run.lists:holds_elements
8eea25 Returns its address: retire it. | run.lists:holds_elements cxx:lists
4a2173 Take the first element off; NULL: | run.lists:holds_elements
9fed9a Put @element in the place of | run.lists:holds_elements run.lists:keeps_readers
b45404 Returns the address of @old: retire | run.lists:holds_elements cxx:lists
f79c95 Take off all elements, and call | run.lists:holds_elements
9661f8 Move all of @other to the | run.lists:splices
f5fd02 With both locks; waits for a | run.lists:splices_behind_readers misuse:splices_in_a_region
9c7e26 A list whose head is one | run.lists:holds_elements ctest:cxx_lists
19266e @Member is the address of the | cxx:lists
829f45 Walks to the end. | run.lists:holds_elements
