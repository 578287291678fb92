import random
from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal

from top_sellers import Sale, top_sellers

START = datetime(2026, 1, 1, 8)


def sales(count=400):
    """Sales in disorder, within the allowed lag, some of which come twice."""
    draw = random.Random(10)
    rows = [
        Sale(number, f"p{draw.randrange(8)}", Decimal(draw.randrange(100, 5000)) / 100, START + timedelta(seconds=20 * number))
        for number in range(count)
    ]
    rows += draw.sample(rows, 80)
    return sorted(rows, key=lambda sale: sale.time + timedelta(seconds=draw.randrange(300)))


def best(rows, places):
    """Return the same by plain Python: (hour, product, number, total)."""
    hours: dict = defaultdict(lambda: defaultdict(list))
    for sale in {sale.id: sale for sale in rows}.values():
        hours[sale.time.replace(minute=0, second=0)][sale.product].append(sale.price)
    return {
        (hour, product, len(prices), sum(prices))
        for hour, products in hours.items()
        for product, prices in sorted(products.items(), key=lambda each: (sum(each[1]), each[0]))[-places:]
    }


def test_the_best_of_each_hour_are_those_of_plain_python(job_test):
    test, rows = job_test(top_sellers, "sales", "/out", "3"), sales()
    for begin in range(0, len(rows), 120):
        test.push("sales", rows[begin : begin + 120])
        test.epoch()
    test.advance_time("3 hours")
    test.advance_time("3 hours")  # of the second window, which the results of the first one enter
    assert {tuple(row.values()) for row in test.rows("out")} == best(rows, 3)
    assert len(test.rows("out")) == 9
