//! A binary heap with the least element on top.
//!
//! Unlike the heap of the standard library, it changes elements at any position, and tells where its elements are. A
//! pass changes the top of two heaps for each container.

/// Elements of which no two are equal.
#[derive(Clone, Debug)]
pub(crate) struct MinHeap<T>(Vec<T>);

impl<T> Default for MinHeap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Ord> MinHeap<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The elements, each behind its parent.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    #[inline]
    pub(crate) fn top(&self) -> Option<&T> {
        self.0.first()
    }

    // Inlined where the element is made, so that the compiler can build it in its slot (see `facts/table.rs`).
    #[inline(always)]
    pub(crate) fn push(&mut self, element: T) {
        self.insert(element, |_, _| {});
    }

    /// Removes the top.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        (!self.is_empty()).then(|| self.remove(0, |_, _| {}))
    }

    /// Changes the top and moves it to its new place. Does nothing if the heap is empty.
    #[inline]
    pub(crate) fn change_top(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(mut top) = self.top().copied() {
            change(&mut top);
            self.sink(0, top, |_, _| {});
        }
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.0.retain(keep);
        for position in (0..self.0.len() / 2).rev() {
            self.sink(position, self.0[position], |_, _| {});
        }
    }

    /// Adds an element. Calls `on_move` with each element that it writes, and with its position.
    #[inline(always)]
    pub(crate) fn insert(&mut self, element: T, on_move: impl FnMut(&T, usize)) {
        self.0.push(element);
        self.rise(self.0.len() - 1, element, on_move);
    }

    /// Removes the element at a position. `on_move` as in [`insert`](Self::insert).
    #[inline]
    pub(crate) fn remove(&mut self, position: usize, on_move: impl FnMut(&T, usize)) -> T {
        let removed = self.0.swap_remove(position);
        if let Some(last) = self.0.get(position).copied() {
            self.replace(position, last, on_move);
        }
        removed
    }

    /// Replaces the element at a position and restores the order. `on_move` as in [`insert`](Self::insert).
    #[inline]
    pub(crate) fn replace(&mut self, position: usize, element: T, on_move: impl FnMut(&T, usize)) {
        if position > 0 && element < self.0[parent(position)] {
            self.rise(position, element, on_move);
        } else {
            self.sink(position, element, on_move);
        }
    }

    #[inline(always)]
    fn rise(&mut self, mut position: usize, element: T, mut on_move: impl FnMut(&T, usize)) {
        while position > 0 && element < self.0[parent(position)] {
            self.0[position] = self.0[parent(position)];
            on_move(&self.0[position], position);
            position = parent(position);
        }
        self.0[position] = element;
        on_move(&element, position);
    }

    #[inline]
    fn sink(&mut self, mut position: usize, element: T, mut on_move: impl FnMut(&T, usize)) {
        while let Some(left) = self.0.get(first_child(position)) {
            let is_right_first = self.0.get(first_child(position) + 1).is_some_and(|right| right < left);
            let child = first_child(position) + usize::from(is_right_first);
            if element < self.0[child] {
                break;
            }
            self.0[position] = self.0[child];
            on_move(&self.0[position], position);
            position = child;
        }
        self.0[position] = element;
        on_move(&element, position);
    }

    #[cfg(test)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.0
    }

    /// The position of an element that is not behind its parent, if there is one.
    pub(crate) fn misplaced(&self) -> Option<usize> {
        (1..self.0.len()).find(|position| self.0[*position] <= self.0[parent(*position)])
    }
}

const fn parent(position: usize) -> usize {
    (position - 1) / 2
}

/// The position of an element's first child in a heap. The second child is behind it.
pub(crate) const fn first_child(position: usize) -> usize {
    2 * position + 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The heap stays in order and tells each position after any changes.
        #[test]
        fn equals_an_ordered_set(steps in proptest::collection::vec((0..6u8, 0..40u32, 0..40usize), 0..80)) {
            let (mut heap, mut model) = (MinHeap::default(), BTreeSet::new());
            let mut places = [usize::MAX; 40];
            for (kind, number, at) in steps {
                let placed = |number: &u32, position| places[*number as usize] = position;
                let is_new = !model.contains(&number);
                match kind {
                    0 | 1 if is_new => heap.insert(number, placed),
                    2 if at < model.len() => {
                        prop_assert!(model.remove(&heap.remove(at, placed)));
                        continue;
                    }
                    3 if is_new && at < model.len() => {
                        model.remove(&heap.as_slice()[at]);
                        heap.replace(at, number, placed);
                    }
                    4 if is_new && heap.top().is_some() => {
                        model.pop_first();
                        heap.change_top(|top| *top = number);
                        places = index(heap.as_slice());
                    }
                    5 => {
                        heap.retain(|kept| kept % 5 != number % 5);
                        model.retain(|kept| kept % 5 != number % 5);
                        places = index(heap.as_slice());
                        continue;
                    }
                    _ => continue,
                }
                model.insert(number);
                prop_assert_eq!(heap.misplaced(), None);
                for (position, number) in heap.as_slice().iter().enumerate() {
                    prop_assert_eq!(places[*number as usize], position);
                }
            }
            let rest = std::iter::from_fn(|| heap.pop());
            prop_assert!(rest.eq(model));
        }
    }

    fn index(numbers: &[u32]) -> [usize; 40] {
        let mut places = [usize::MAX; 40];
        numbers.iter().enumerate().for_each(|(position, number)| places[*number as usize] = position);
        places
    }

    #[test]
    fn an_element_before_its_parent_is_misplaced() {
        assert_eq!(MinHeap(vec![1, 2, 3, 4]).misplaced(), None);
        assert_eq!(MinHeap(vec![1, 2, 3, 0]).misplaced(), Some(3));
        assert_eq!(MinHeap(vec![1, 1]).misplaced(), Some(1), "no two are equal");
    }
}
